#ifdef __clang__
typedef float4 float4_packed __attribute__((aligned(4)));
#define LOAD_float4(p) (*(const __global float4_packed*)(p))
#define STORE_float4(x, p) (*(__global float4_packed*)(p) = (x))
#else
#define LOAD_float4(p) vload4(0, p)
#define STORE_float4(x, p) vstore4(x, 0, p)
#endif
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void E2_3_4(__global const float* restrict p0, __global const float* restrict p1, __global float* restrict p2, __global float* restrict p3) {
  int gx = get_group_id(0);
  int a0 = gx*4;
  bool c1 = (gx) <= 1;
  float4 v1 = (c1 ? LOAD_float4(p0 + (a0)) : ((float4)(p0[a0], p0[a0+1], (c1 ? p0[a0+2] : 0.0f), (c1 ? p0[a0+3] : 0.0f))));
  float4 v2 = (c1 ? LOAD_float4(p1 + (a0)) : ((float4)(p1[a0], p1[a0+1], (c1 ? p1[a0+2] : 0.0f), (c1 ? p1[a0+3] : 0.0f))));
  float4 v3 = (v1 + v2);
  p2[a0] = v3.s0;
  p2[a0+1] = v3.s1;
  if (c1) p2[a0+2] = v3.s2;
  if (c1) p2[a0+3] = v3.s3;
  float4 v4 = (v1 * v2);
  p3[a0] = v4.s0;
  p3[a0+1] = v4.s1;
  if (c1) p3[a0+2] = v4.s2;
  if (c1) p3[a0+3] = v4.s3;
}
