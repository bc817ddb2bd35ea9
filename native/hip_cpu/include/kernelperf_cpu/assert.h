// assert, as <cassert> defines it: each inclusion looks at NDEBUG anew. One that does not hold fails the launch.
#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) ((condition) ? (void)0 : kp_assert_failed(__FILE__, __LINE__, #condition))
#endif
