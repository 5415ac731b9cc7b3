#ifdef __clang__
typedef float4 float4_packed __attribute__((aligned(4)));
#define LOAD_float4(p) (*(const __global float4_packed*)(p))
#define STORE_float4(x, p) (*(__global float4_packed*)(p) = (x))
#else
#define LOAD_float4(p) vload4(0, p)
#define STORE_float4(x, p) vstore4(x, 0, p)
#endif
__kernel __attribute__((reqd_work_group_size(3, 1, 1))) void E_50_3_4(__global const float* restrict p0, __global float* restrict p1) {
  int gx = get_group_id(0);
  int lx = get_local_id(0);
  int a0 = (gx*12+lx*4);
  float4 v1 = LOAD_float4(p0 + (a0));
  float4 v2 = exp2(v1);
  float4 v3 = log2(v2);
  float4 v4 = sin(v3);
  float4 v5 = sqrt(v4);
  float4 v6 = (1.0f/v5);
  float4 v7 = (-v6);
  STORE_float4(v7, p1 + (a0));
}
