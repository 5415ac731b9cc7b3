#ifdef __clang__
typedef float4 float4_packed __attribute__((aligned(4)));
#define LOAD_float4(p) (*(const __global float4_packed*)(p))
#define STORE_float4(x, p) (*(__global float4_packed*)(p) = (x))
#else
#define LOAD_float4(p) vload4(0, p)
#define STORE_float4(x, p) vstore4(x, 0, p)
#endif
__kernel __attribute__((reqd_work_group_size(3, 1, 1))) void E_25_3_4(__global float* restrict p0) {
  int gx = get_group_id(0);
  int lx = get_local_id(0);
  int a0 = (gx*12+lx*4);
  float4 v1 = LOAD_float4(p0 + (a0));
  float4 v2 = (v1 + 1.0f);
  STORE_float4(v2, p0 + (a0));
}
