#ifdef __clang__
typedef float4 float4_packed __attribute__((aligned(4)));
#define LOAD_float4(p) (*(const __global float4_packed*)(p))
#define STORE_float4(x, p) (*(__global float4_packed*)(p) = (x))
#else
#define LOAD_float4(p) vload4(0, p)
#define STORE_float4(x, p) vstore4(x, 0, p)
#endif
__kernel __attribute__((reqd_work_group_size(2, 1, 1))) void r_5_2_n0_4(__global const float* restrict p0, __global float* restrict p1, const int n0) {
  int gx = get_group_id(0);
  int lx = get_local_id(0);
  float s1 = 0.0f;
  float s2 = 0.0f;
  float s3 = 0.0f;
  float s4 = 0.0f;
  int a0 = (gx*n0*8+lx*n0*4);
  int a1 = (gx*n0*8+lx*n0*4+n0);
  int a2 = (gx*n0*8+lx*n0*4+n0*2);
  int a3 = (gx*n0*8+lx*n0*4+n0*3);
  for (int r1 = 0; r1 < n0; r1++) {
    float v5 = p0[a0+r1];
    float v6 = p0[a1+r1];
    float v7 = p0[a2+r1];
    float v8 = p0[a3+r1];
    s1 = (s1 + v5);
    s2 = (s2 + v6);
    s3 = (s3 + v7);
    s4 = (s4 + v8);
  }
  int a4 = (gx*8+lx*4);
  STORE_float4(((float4)(s1, s2, s3, s4)), p1 + (a4));
}
