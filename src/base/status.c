#include <runnel/status.h>
#include <runnel/version.h>

const char *rnl_status_name(rnl_status status)
{
    switch (status) {
#define NAME(name, number, sentence) \
    case RNL_##name:                 \
        return #name;
        RNL_STATUS_MAP(NAME)
#undef NAME
    }
    return "UNKNOWN";
}

const char *rnl_status_text(rnl_status status)
{
    switch (status) {
#define TEXT(name, number, sentence) \
    case RNL_##name:                 \
        return sentence;
        RNL_STATUS_MAP(TEXT)
#undef TEXT
    }
    return "this number is no status of Runnel";
}

int rnl_version(void)
{
    return RNL_VERSION;
}
