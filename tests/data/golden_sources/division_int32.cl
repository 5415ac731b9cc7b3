#ifdef __clang__
typedef int4 int4_packed __attribute__((aligned(4)));
#define LOAD_int4(p) (*(const __global int4_packed*)(p))
#define STORE_int4(x, p) (*(__global int4_packed*)(p) = (x))
#else
#define LOAD_int4(p) vload4(0, p)
#define STORE_int4(x, p) vstore4(x, 0, p)
#endif
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void E_35_4(__global const int* restrict p0, __global const int* restrict p1, __global int* restrict p2) {
  int gx = get_group_id(0);
  int a0 = gx*4;
  int4 v1 = LOAD_int4(p0 + (a0));
  int4 v2 = LOAD_int4(p1 + (a0));
  int4 v3 = ((v2 == ((int4)(-1))) ? ((int4)(0) - v1) : (v1 / ((v2 == ((int4)(0))) || (v2 == ((int4)(-1))) ? ((int4)(1)) : v2)));
  int4 v4 = ((v2 == ((int4)(-1))) ? ((int4)(0)) : (v1 % ((v2 == ((int4)(0))) || (v2 == ((int4)(-1))) ? ((int4)(1)) : v2)));
  int4 v5 = (v3 + v4);
  STORE_int4(v5, p2 + (a0));
}
