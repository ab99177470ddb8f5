// Nothing but a name (told.c).
extern const int watcher;
const int watcher = 1;
