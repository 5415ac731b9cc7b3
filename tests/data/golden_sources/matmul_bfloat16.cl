#ifdef __clang__
#define CONVERT(x, kind) __builtin_convertvector(x, kind)
#else
#define CONVERT(x, kind) convert_##kind(x)
#endif
#ifdef __clang__
typedef float4 float4_packed __attribute__((aligned(4)));
#define LOAD_float4(p) (*(const __global float4_packed*)(p))
#define STORE_float4(x, p) (*(__global float4_packed*)(p) = (x))
#else
#define LOAD_float4(p) vload4(0, p)
#define STORE_float4(x, p) vstore4(x, 0, p)
#endif
#ifdef __clang__
typedef ushort4 ushort4_packed __attribute__((aligned(2)));
#define LOAD_ushort4(p) (*(const __global ushort4_packed*)(p))
#define STORE_ushort4(x, p) (*(__global ushort4_packed*)(p) = (x))
#else
#define LOAD_ushort4(p) vload4(0, p)
#define STORE_ushort4(x, p) vstore4(x, 0, p)
#endif
__kernel __attribute__((reqd_work_group_size(8, 16, 1))) void r_2_8_16_16_4_4_4(__global float* restrict p0, __global const ushort* restrict p1, __global const ushort* restrict p2) {
  int gx = get_group_id(0);
  int lx = get_local_id(0);
  int ly = get_local_id(1);
  float4 s1 = ((float4)(0.0f));
  float4 s2 = ((float4)(0.0f));
  float4 s3 = ((float4)(0.0f));
  float4 s4 = ((float4)(0.0f));
  int a0 = (gx*2048+lx*256);
  int a2 = ly*4;
  for (int r7 = 0; r7 < 16; r7++) {
    int a1 = r7*4;
    float v5 = as_float((uint)(p1[a0+a1]) << 16);
    float v6 = as_float((uint)(p1[a0+a1+64]) << 16);
    float v7 = as_float((uint)(p1[a0+a1+128]) << 16);
    float v8 = as_float((uint)(p1[a0+a1+192]) << 16);
    int a3 = r7*256;
    float4 v9 = as_float4(CONVERT(LOAD_ushort4(p2 + (a2+a3)), uint4) << 16);
    float v10 = v5;
    float4 v11 = v9;
    s1 += (v10 * v11);
    float v12 = v6;
    s2 += (v12 * v11);
    float v13 = v7;
    s3 += (v13 * v11);
    float v14 = v8;
    s4 += (v14 * v11);
    float v15 = as_float((uint)(p1[a0+a1+1]) << 16);
    float v16 = as_float((uint)(p1[a0+a1+65]) << 16);
    float v17 = as_float((uint)(p1[a0+a1+129]) << 16);
    float v18 = as_float((uint)(p1[a0+a1+193]) << 16);
    float4 v19 = as_float4(CONVERT(LOAD_ushort4(p2 + (a2+a3+64)), uint4) << 16);
    float v20 = v15;
    float4 v21 = v19;
    s1 += (v20 * v21);
    float v22 = v16;
    s2 += (v22 * v21);
    float v23 = v17;
    s3 += (v23 * v21);
    float v24 = v18;
    s4 += (v24 * v21);
    float v25 = as_float((uint)(p1[a0+a1+2]) << 16);
    float v26 = as_float((uint)(p1[a0+a1+66]) << 16);
    float v27 = as_float((uint)(p1[a0+a1+130]) << 16);
    float v28 = as_float((uint)(p1[a0+a1+194]) << 16);
    float4 v29 = as_float4(CONVERT(LOAD_ushort4(p2 + (a2+a3+128)), uint4) << 16);
    float v30 = v25;
    float4 v31 = v29;
    s1 += (v30 * v31);
    float v32 = v26;
    s2 += (v32 * v31);
    float v33 = v27;
    s3 += (v33 * v31);
    float v34 = v28;
    s4 += (v34 * v31);
    float v35 = as_float((uint)(p1[a0+a1+3]) << 16);
    float v36 = as_float((uint)(p1[a0+a1+67]) << 16);
    float v37 = as_float((uint)(p1[a0+a1+131]) << 16);
    float v38 = as_float((uint)(p1[a0+a1+195]) << 16);
    float4 v39 = as_float4(CONVERT(LOAD_ushort4(p2 + (a2+a3+192)), uint4) << 16);
    float v40 = v35;
    float4 v41 = v39;
    s1 += (v40 * v41);
    float v42 = v36;
    s2 += (v42 * v41);
    float v43 = v37;
    s3 += (v43 * v41);
    float v44 = v38;
    s4 += (v44 * v41);
  }
  int a4 = (gx*2048+lx*256+ly*4);
  STORE_float4(s1, p0 + (a4));
  STORE_float4(s2, p0 + (a4+64));
  STORE_float4(s3, p0 + (a4+128));
  STORE_float4(s4, p0 + (a4+192));
}
