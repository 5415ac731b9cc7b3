#ifdef __clang__
typedef int2 int2_packed __attribute__((aligned(4)));
#define LOAD_int2(p) (*(const __global int2_packed*)(p))
#define STORE_int2(x, p) (*(__global int2_packed*)(p) = (x))
#else
#define LOAD_int2(p) vload2(0, p)
#define STORE_int2(x, p) vstore2(x, 0, p)
#endif
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void r_6_3_3_3_2(__global const int* restrict p0, __global int* restrict p1) {
  int gy = get_group_id(1);
  int gx = get_group_id(0);
  int2 s1 = ((int2)((-2147483647-1)));
  int a0 = gx*2;
  int a1 = (gx*2+gy*6);
  bool c3 = (gx) >= 1;
  bool c6 = (gx) <= 1;
  for (int r2 = 0; r2 < 3; r2++) {
    int2 v2 = (((((int2)(a0) + (int2)(0, 1)) >= (int)1)) & ((((int2)(gy+r2) + (int2)(0, 0)) >= (int)1) & (((int2)(gy+r2) + (int2)(0, 0)) <= (int)6)));
    int a2 = r2*6;
    bool c4 = (gy+r2) >= 1;
    bool c5 = (gy+r2) <= 6;
    int2 v3 = ((c3 & c4 & c5) ? LOAD_int2(p0 + (a1+a2-7)) : ((int2)(((c3 & c4 & c5) ? p0[a1+a2-7] : 0), ((c4 & c5) ? p0[a1+a2-7+1] : 0))));
    int2 v4 = (v2 ? v3 : ((int2)((-2147483647-1))));
    s1 = (s1 < v4 ? v4 : s1);
    int2 v5 = ((((int2)(gy+r2) + (int2)(0, 0)) >= (int)1) & (((int2)(gy+r2) + (int2)(0, 0)) <= (int)6));
    int2 v6 = ((c4 & c5) ? LOAD_int2(p0 + (a1+a2-7+1)) : ((int2)(((c4 & c5) ? p0[a1+a2-7+1] : 0), ((c4 & c5) ? p0[a1+a2-7+2] : 0))));
    int2 v7 = (v5 ? v6 : ((int2)((-2147483647-1))));
    s1 = (s1 < v7 ? v7 : s1);
    int2 v8 = (((((int2)(a0) + (int2)(0, 1)) <= (int)4)) & ((((int2)(gy+r2) + (int2)(0, 0)) >= (int)1) & (((int2)(gy+r2) + (int2)(0, 0)) <= (int)6)));
    int2 v9 = ((c6 & c4 & c5) ? LOAD_int2(p0 + (a1+a2-7+2)) : ((int2)(((c4 & c5) ? p0[a1+a2-7+2] : 0), ((c6 & c4 & c5) ? p0[a1+a2-7+3] : 0))));
    int2 v10 = (v8 ? v9 : ((int2)((-2147483647-1))));
    s1 = (s1 < v10 ? v10 : s1);
  }
  STORE_int2(s1, p1 + (a1));
}
