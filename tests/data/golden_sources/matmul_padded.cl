#ifdef __clang__
#define CONVERT(x, kind) __builtin_convertvector(x, kind)
#else
#define CONVERT(x, kind) convert_##kind(x)
#endif
#ifdef __clang__
typedef char4 char4_packed __attribute__((aligned(1)));
#define LOAD_char4(p) (*(const __global char4_packed*)(p))
#define STORE_char4(x, p) (*(__global char4_packed*)(p) = (x))
#else
#define LOAD_char4(p) vload4(0, p)
#define STORE_char4(x, p) vstore4(x, 0, p)
#endif
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void r_70_64_24_4(__global int* restrict p0, __global const char* restrict p1, __global const char* restrict p2) {
  int gy = get_group_id(1);
  int gx = get_group_id(0);
  if (gy <= 63) {
    int4 s1 = ((int4)(0));
    int a0 = gy*64;
    for (int r5 = 0; r5 < 24; r5++) {
      int a1 = r5*4;
      bool c2 = (r5) <= 15;
      char4 v2 = (c2 ? LOAD_char4(p1 + (a0+a1)) : ((char4)(((char)0))));
      int a3 = r5*256;
      char4 v3 = ((char4)((c2 ? p2[gx+a3] : ((char)0)), (c2 ? p2[gx+a3+64] : ((char)0)), (c2 ? p2[gx+a3+128] : ((char)0)), (c2 ? p2[gx+a3+192] : ((char)0))));
      char4 v4 = (v2 * v3);
      int4 v5 = CONVERT(v4, int4);
      s1 = (s1 + (c2 ? v5 : ((int4)(0))));
    }
    int2 v6 = (s1.lo + s1.hi);
    int v7 = (v6.s0 + v6.s1);
    int s8 = v7;
    int a4 = (gx+gy*64);
    p0[a4] = s8;
  }
}
