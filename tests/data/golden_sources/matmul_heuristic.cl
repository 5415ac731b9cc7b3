#ifdef __clang__
typedef float4 float4_packed __attribute__((aligned(4)));
#define LOAD_float4(p) (*(const __global float4_packed*)(p))
#define STORE_float4(x, p) (*(__global float4_packed*)(p) = (x))
#else
#define LOAD_float4(p) vload4(0, p)
#define STORE_float4(x, p) vstore4(x, 0, p)
#endif
__kernel __attribute__((reqd_work_group_size(8, 16, 1))) void r_16_8_8_16_128_4_4_4(__global float* restrict p0, __global const float* restrict p1, __global const float* restrict p2) {
  int gy = get_group_id(1);
  int gx = get_group_id(0);
  int lx = get_local_id(0);
  int ly = get_local_id(1);
  float4 s1 = ((float4)(0.0f));
  float4 s2 = ((float4)(0.0f));
  float4 s3 = ((float4)(0.0f));
  float4 s4 = ((float4)(0.0f));
  int a0 = (gy*16384+lx*2048);
  int a2 = (gx*64+ly*4);
  for (int r7 = 0; r7 < 128; r7++) {
    int a1 = r7*4;
    float v5 = p1[a0+a1];
    float v6 = p1[a0+a1+512];
    float v7 = p1[a0+a1+1024];
    float v8 = p1[a0+a1+1536];
    int a3 = r7*2048;
    float4 v9 = LOAD_float4(p2 + (a2+a3));
    s1 += (v5 * v9);
    s2 += (v6 * v9);
    s3 += (v7 * v9);
    s4 += (v8 * v9);
    float v10 = p1[a0+a1+1];
    float v11 = p1[a0+a1+513];
    float v12 = p1[a0+a1+1025];
    float v13 = p1[a0+a1+1537];
    float4 v14 = LOAD_float4(p2 + (a2+a3+512));
    s1 += (v10 * v14);
    s2 += (v11 * v14);
    s3 += (v12 * v14);
    s4 += (v13 * v14);
    float v15 = p1[a0+a1+2];
    float v16 = p1[a0+a1+514];
    float v17 = p1[a0+a1+1026];
    float v18 = p1[a0+a1+1538];
    float4 v19 = LOAD_float4(p2 + (a2+a3+1024));
    s1 += (v15 * v19);
    s2 += (v16 * v19);
    s3 += (v17 * v19);
    s4 += (v18 * v19);
    float v20 = p1[a0+a1+3];
    float v21 = p1[a0+a1+515];
    float v22 = p1[a0+a1+1027];
    float v23 = p1[a0+a1+1539];
    float4 v24 = LOAD_float4(p2 + (a2+a3+1536));
    s1 += (v20 * v24);
    s2 += (v21 * v24);
    s3 += (v22 * v24);
    s4 += (v23 * v24);
  }
  int a4 = (gx*64+gy*16384+lx*2048+ly*4);
  STORE_float4(s1, p0 + (a4));
  STORE_float4(s2, p0 + (a4+512));
  STORE_float4(s3, p0 + (a4+1024));
  STORE_float4(s4, p0 + (a4+1536));
}
