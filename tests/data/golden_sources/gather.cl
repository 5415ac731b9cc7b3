#ifdef __clang__
typedef float4 float4_packed __attribute__((aligned(4)));
#define LOAD_float4(p) (*(const __global float4_packed*)(p))
#define STORE_float4(x, p) (*(__global float4_packed*)(p) = (x))
#else
#define LOAD_float4(p) vload4(0, p)
#define STORE_float4(x, p) vstore4(x, 0, p)
#endif
__kernel __attribute__((reqd_work_group_size(8, 1, 1))) void r_12_8_50_4(__global const float* restrict p0, __global const int* restrict p1, __global const int* restrict p2, __global float* restrict p3) {
  int gx = get_group_id(0);
  int lx = get_local_id(0);
  float4 s1 = ((float4)(0.0f));
  int v2 = p1[gx];
  int a0 = lx*4;
  for (int r2 = 0; r2 < 50; r2++) {
    int v3 = p2[r2];
    bool v4 = (v2 != v3);
    int a1 = r2*32;
    float4 v5 = LOAD_float4(p0 + (a0+a1));
    float4 v6 = (v4 ? ((float4)(0.0f)) : v5);
    s1 = (s1 + v6);
  }
  int a2 = (gx*32+lx*4);
  STORE_float4(s1, p3 + (a2));
}
