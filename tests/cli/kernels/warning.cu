#warning this compiles, with a word
