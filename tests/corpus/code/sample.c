#include <stdio.h>
#define X 1
/* doc */
struct foo {
  int a;
};
typedef struct { int a; } bar_t;
enum e { A, B };
static int *f(int a, char *(*cb)(void))
{
  return 0;
}
#ifdef Q
void g(void) { }
#else
void h(void) { }
#endif
int proto(int);
