;; What is done to each sample of each frame, eight samples at a time where that can be. `n` is a number of samples, a multiple of 8.
;; Where things lie is said in frames.ts; there they are written and read.
(module
  (memory (export "memory") 3)

  ;; sum[i] += frame[i]
  (func (export "add") (param $n i32)
    (local $at i32) (local $to i32) (local $frame v128)
    (local.set $n (i32.shl (local.get $n) (i32.const 1)))
    (loop $next
      (local.set $frame (v128.load offset=8192 (local.get $at)))
      (local.set $to (i32.shl (local.get $at) (i32.const 1)))
      (v128.store (local.get $to)
        (i32x4.add (v128.load (local.get $to)) (i32x4.extend_low_i16x8_s (local.get $frame))))
      (v128.store offset=16 (local.get $to)
        (i32x4.add (v128.load offset=16 (local.get $to)) (i32x4.extend_high_i16x8_s (local.get $frame))))
      (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $n)))))

  ;; sum[i] -= frame[i]
  (func (export "remove") (param $n i32)
    (local $at i32) (local $to i32) (local $frame v128)
    (local.set $n (i32.shl (local.get $n) (i32.const 1)))
    (loop $next
      (local.set $frame (v128.load offset=8192 (local.get $at)))
      (local.set $to (i32.shl (local.get $at) (i32.const 1)))
      (v128.store (local.get $to)
        (i32x4.sub (v128.load (local.get $to)) (i32x4.extend_low_i16x8_s (local.get $frame))))
      (v128.store offset=16 (local.get $to)
        (i32x4.sub (v128.load offset=16 (local.get $to)) (i32x4.extend_high_i16x8_s (local.get $frame))))
      (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $n)))))

  ;; out[i] = sum[i] - frame[i]; whether one of them did not fit, and was clamped
  (func (export "without") (param $n i32) (result i32)
    (local $at i32) (local $from i32) (local $frame v128) (local $low v128) (local $high v128) (local $out v128) (local $excess v128)
    (local.set $n (i32.shl (local.get $n) (i32.const 1)))
    (loop $next
      (local.set $frame (v128.load offset=8192 (local.get $at)))
      (local.set $from (i32.shl (local.get $at) (i32.const 1)))
      (local.set $low (i32x4.sub (v128.load (local.get $from)) (i32x4.extend_low_i16x8_s (local.get $frame))))
      (local.set $high (i32x4.sub (v128.load offset=16 (local.get $from)) (i32x4.extend_high_i16x8_s (local.get $frame))))
      (local.set $out (i16x8.narrow_i32x4_s (local.get $low) (local.get $high)))
      (v128.store offset=12288 (local.get $at) (local.get $out))
      (local.set $excess (v128.or (local.get $excess) (v128.or
        (v128.xor (local.get $low) (i32x4.extend_low_i16x8_s (local.get $out)))
        (v128.xor (local.get $high) (i32x4.extend_high_i16x8_s (local.get $out))))))
      (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $n))))
    (v128.any_true (local.get $excess)))

  ;; out[i] = sum[i]; likewise
  (func (export "all") (param $n i32) (result i32)
    (local $at i32) (local $from i32) (local $low v128) (local $high v128) (local $out v128) (local $excess v128)
    (local.set $n (i32.shl (local.get $n) (i32.const 1)))
    (loop $next
      (local.set $from (i32.shl (local.get $at) (i32.const 1)))
      (local.set $low (v128.load (local.get $from)))
      (local.set $high (v128.load offset=16 (local.get $from)))
      (local.set $out (i16x8.narrow_i32x4_s (local.get $low) (local.get $high)))
      (v128.store offset=12288 (local.get $at) (local.get $out))
      (local.set $excess (v128.or (local.get $excess) (v128.or
        (v128.xor (local.get $low) (i32x4.extend_low_i16x8_s (local.get $out)))
        (v128.xor (local.get $high) (i32x4.extend_high_i16x8_s (local.get $out))))))
      (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $n))))
    (v128.any_true (local.get $excess)))

  ;; octets[i] = table[out[i]]
  (func (export "encode") (param $table i32) (param $n i32)
    (local $at i32)
    (loop $next
      (i32.store8 offset=4096 (local.get $at)
        (i32.load8_u (i32.add (local.get $table)
          (i32.load16_u offset=12288 (i32.shl (local.get $at) (i32.const 1))))))
      (i32.store8 offset=4097 (local.get $at)
        (i32.load8_u (i32.add (local.get $table)
          (i32.load16_u offset=12290 (i32.shl (local.get $at) (i32.const 1))))))
      (i32.store8 offset=4098 (local.get $at)
        (i32.load8_u (i32.add (local.get $table)
          (i32.load16_u offset=12292 (i32.shl (local.get $at) (i32.const 1))))))
      (i32.store8 offset=4099 (local.get $at)
        (i32.load8_u (i32.add (local.get $table)
          (i32.load16_u offset=12294 (i32.shl (local.get $at) (i32.const 1))))))
      (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 4))) (local.get $n)))))

  ;; out[i] = table[octets[i]], of 256 samples
  (func (export "decode") (param $table i32) (param $n i32)
    (local $at i32) (local $to i32)
    (loop $next
      (local.set $to (i32.shl (local.get $at) (i32.const 1)))
      (i32.store16 offset=12288 (local.get $to)
        (i32.load16_u (i32.add (local.get $table) (i32.shl (i32.load8_u offset=4096 (local.get $at)) (i32.const 1)))))
      (i32.store16 offset=12290 (local.get $to)
        (i32.load16_u (i32.add (local.get $table) (i32.shl (i32.load8_u offset=4097 (local.get $at)) (i32.const 1)))))
      (i32.store16 offset=12292 (local.get $to)
        (i32.load16_u (i32.add (local.get $table) (i32.shl (i32.load8_u offset=4098 (local.get $at)) (i32.const 1)))))
      (i32.store16 offset=12294 (local.get $to)
        (i32.load16_u (i32.add (local.get $table) (i32.shl (i32.load8_u offset=4099 (local.get $at)) (i32.const 1)))))
      (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 4))) (local.get $n)))))

  ;; correlations[k] = sum of frame[i] * frame[i - k], for k = 0, 1, 2; before the frame lies silence
  (func (export "correlate") (param $from i32) (param $n i32)
    (local $at i32) (local $frame v128) (local $dot v128) (local $k0 v128) (local $k1 v128) (local $k2 v128)
    (local.set $at (i32.sub (local.get $from) (i32.const 4)))
    (local.set $n (i32.add (local.get $at) (i32.shl (local.get $n) (i32.const 1))))
    (loop $next
      (local.set $frame (v128.load offset=4 (local.get $at)))
      ;; Of two squares the sum may take 32 bits: it is no negative number.
      (local.set $dot (i32x4.dot_i16x8_s (local.get $frame) (local.get $frame)))
      (local.set $k0 (i64x2.add (local.get $k0) (i64x2.add
        (i64x2.extend_low_i32x4_u (local.get $dot)) (i64x2.extend_high_i32x4_u (local.get $dot)))))
      (local.set $dot (i32x4.dot_i16x8_s (local.get $frame) (v128.load offset=2 (local.get $at))))
      (local.set $k1 (i64x2.add (local.get $k1) (i64x2.add
        (i64x2.extend_low_i32x4_s (local.get $dot)) (i64x2.extend_high_i32x4_s (local.get $dot)))))
      (local.set $dot (i32x4.dot_i16x8_s (local.get $frame) (v128.load (local.get $at))))
      (local.set $k2 (i64x2.add (local.get $k2) (i64x2.add
        (i64x2.extend_low_i32x4_s (local.get $dot)) (i64x2.extend_high_i32x4_s (local.get $dot)))))
      (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $n))))
    (f64.store offset=5120 (i32.const 0) (f64.convert_i64_s
      (i64.add (i64x2.extract_lane 0 (local.get $k0)) (i64x2.extract_lane 1 (local.get $k0)))))
    (f64.store offset=5128 (i32.const 0) (f64.convert_i64_s
      (i64.add (i64x2.extract_lane 0 (local.get $k1)) (i64x2.extract_lane 1 (local.get $k1)))))
    (f64.store offset=5136 (i32.const 0) (f64.convert_i64_s
      (i64.add (i64x2.extract_lane 0 (local.get $k2)) (i64x2.extract_lane 1 (local.get $k2))))))

  ;; For each of so many places, one sample after the other (step 2) or before it (step -2): products[k] = sum of here[i] * there[i],
  ;; energies[k] = sum of there[i] * there[i]. The latter changes by one sample that comes and one that goes.
  (func (export "match") (param $here i32) (param $there i32) (param $step i32) (param $n i32) (param $places i32)
    (local $i i32) (local $place i32) (local $gained i32) (local $gone i32) (local $sample i32)
    (local $dot v128) (local $product v128) (local $energy i64)
    (local.set $n (i32.shl (local.get $n) (i32.const 1)))
    (if (i32.gt_s (local.get $step) (i32.const 0))
      (then
        (local.set $gained (i32.sub (local.get $n) (i32.const 2)))
        (local.set $gone (i32.const -2)))
      (else (local.set $gone (local.get $n))))
    (loop $nextSample
      (local.set $sample (i32.load16_s (i32.add (local.get $there) (local.get $i))))
      (local.set $energy (i64.add (local.get $energy)
        (i64.extend_i32_s (i32.mul (local.get $sample) (local.get $sample)))))
      (br_if $nextSample (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 2))) (local.get $n))))
    (loop $nextPlace
      (local.set $i (i32.const 0))
      (local.set $product (v128.const i64x2 0 0))
      (loop $next
        (local.set $dot (i32x4.dot_i16x8_s
          (v128.load (i32.add (local.get $here) (local.get $i))) (v128.load (i32.add (local.get $there) (local.get $i)))))
        (local.set $product (i64x2.add (local.get $product) (i64x2.add
          (i64x2.extend_low_i32x4_s (local.get $dot)) (i64x2.extend_high_i32x4_s (local.get $dot)))))
        (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 16))) (local.get $n))))
      (f64.store offset=32768 (local.get $place) (f64.convert_i64_s
        (i64.add (i64x2.extract_lane 0 (local.get $product)) (i64x2.extract_lane 1 (local.get $product)))))
      (f64.store offset=40960 (local.get $place) (f64.convert_i64_s (local.get $energy)))
      (local.set $there (i32.add (local.get $there) (local.get $step)))
      (local.set $sample (i32.load16_s (i32.add (local.get $there) (local.get $gained))))
      (local.set $energy (i64.add (local.get $energy)
        (i64.extend_i32_s (i32.mul (local.get $sample) (local.get $sample)))))
      (local.set $sample (i32.load16_s (i32.add (local.get $there) (local.get $gone))))
      (local.set $energy (i64.sub (local.get $energy)
        (i64.extend_i32_s (i32.mul (local.get $sample) (local.get $sample)))))
      (local.set $place (i32.add (local.get $place) (i32.const 8)))
      (br_if $nextPlace (local.tee $places (i32.sub (local.get $places) (i32.const 1))))))
)
