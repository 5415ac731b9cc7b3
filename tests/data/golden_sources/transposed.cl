#ifdef __clang__
typedef float4 float4_packed __attribute__((aligned(4)));
#define LOAD_float4(p) (*(const __global float4_packed*)(p))
#define STORE_float4(x, p) (*(__global float4_packed*)(p) = (x))
#else
#define LOAD_float4(p) vload4(0, p)
#define STORE_float4(x, p) vstore4(x, 0, p)
#endif
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void E_8_2_4_4(__global const float* restrict p0, __global float* restrict p1) {
  int gy = get_group_id(1);
  int gx = get_group_id(0);
  int a0 = (gx*128+gy*4);
  float4 v1 = LOAD_float4(p0 + (a0));
  float4 v2 = LOAD_float4(p0 + (a0+32));
  float4 v3 = LOAD_float4(p0 + (a0+64));
  float4 v4 = LOAD_float4(p0 + (a0+96));
  int a1 = (gx*4+gy*32);
  STORE_float4(((float4)(v1.s0, v2.s0, v3.s0, v4.s0)), p1 + (a1));
  STORE_float4(((float4)(v1.s1, v2.s1, v3.s1, v4.s1)), p1 + (a1+8));
  STORE_float4(((float4)(v1.s2, v2.s2, v3.s2, v4.s2)), p1 + (a1+16));
  STORE_float4(((float4)(v1.s3, v2.s3, v3.s3, v4.s3)), p1 + (a1+24));
}
