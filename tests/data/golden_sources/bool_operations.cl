#ifdef __clang__
#define CONVERT(x, kind) __builtin_convertvector(x, kind)
#else
#define CONVERT(x, kind) convert_##kind(x)
#endif
#ifdef __clang__
typedef uchar4 uchar4_packed __attribute__((aligned(1)));
#define LOAD_uchar4(p) (*(const __global uchar4_packed*)(p))
#define STORE_uchar4(x, p) (*(__global uchar4_packed*)(p) = (x))
#else
#define LOAD_uchar4(p) vload4(0, p)
#define STORE_uchar4(x, p) vstore4(x, 0, p)
#endif
__kernel __attribute__((reqd_work_group_size(3, 1, 1))) void E2_18_3_4(__global const uchar* restrict p0, __global const uchar* restrict p1, __global const uchar* restrict p2, __global uchar* restrict p3, __global uchar* restrict p4) {
  int gx = get_group_id(0);
  int lx = get_local_id(0);
  int a0 = (gx*12+lx*4);
  char4 v1 = (LOAD_uchar4(p0 + (a0)) != (uchar4)(0));
  char4 v2 = (LOAD_uchar4(p1 + (a0)) != (uchar4)(0));
  char4 v3 = (v1 & v2);
  char4 v4 = (LOAD_uchar4(p2 + (a0)) != (uchar4)(0));
  char4 v5 = (v1 ^ v4);
  char4 v6 = (v3 | v5);
  STORE_uchar4(CONVERT(v6 & (char4)(1), uchar4), p3 + (a0));
  char4 v7 = (v6 ^ v2);
  STORE_uchar4(CONVERT(v7 & (char4)(1), uchar4), p4 + (a0));
}
