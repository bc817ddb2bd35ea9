// As in C, each inclusion follows NDEBUG anew.
#undef assert
#ifdef NDEBUG
#define assert(condition) static_cast<void>(0)
#else
#define assert(condition)                                                                             \
    (static_cast<bool>(condition)                                                                     \
         ? static_cast<void>(0)                                                                       \
         : (printf("%s:%d: assertion failed: %s\n", __FILE__, __LINE__, #condition), __trap()))
#endif
