import * as assert from 'uvu/assert'
import { seeded } from '../../../bench/seeded.ts'
import { goertzelCoefficient, goertzelDbov, goertzelPower } from '../../../codecs/goertzel.ts'
import { DTMF_FREQUENCIES } from '../../../codecs/tones.ts'
import { Room } from '../../../media/rooms/room.ts'
import { addKey, KEYS, prompt, toPcm } from '../../codecs/signals.ts'
import { suite } from '../../harness.ts'
import { KeepingSink, Party, run } from '../engine/party.ts'

const test = suite('media/rooms: edges of keys in a pause')

const SPEC = { roomId: 'call_1', kind: 'call' as const, maxMembers: 8, musicWhenAlone: false, chimes: false }
const PAUSE = 20
const KEY_SAMPLES = 640
/** Maximum level in the listeners' outputs, after codec and mask; the tones arrive at about -13 dBov. */
const NOTHING_DBOV = -50

/** The highest level of either frequency of the key in any `window` samples [dBov]. `shape`: window function. */
function most(
  samples: Int16Array,
  key: (typeof KEYS)[number],
  window = 80,
  shape: (x: number) => number = () => 1,
): number {
  let power = 0
  const stretch = new Float64Array(window)
  for (let at = 0; at + window <= samples.length; at += 10) {
    for (let i = 0; i < window; i++) stretch[i] = samples[at + i]! * shape((i + 0.5) / window)
    for (const hz of DTMF_FREQUENCIES[key]) {
      power = Math.max(power, goertzelPower(stretch, goertzelCoefficient(hz, 8000)))
    }
  }
  return goertzelDbov(power + 1e-9, window)
}

/** A Hann window, which separates a sine from a voice. */
const narrow = (x: number): number => 1 - Math.cos(2 * Math.PI * x)

/** All that comes out while one party presses a key, under words or alone, in a pause with masking. */
function outputs(key: (typeof KEYS)[number], offset: number, speech: Int16Array | null) {
  const [caller, agent, monitor, payment] = ['a', 'b', 'c', 'd'].map((id, n) => new Party(id, `192.0.2.${n + 1}`))
  const room = new Room(SPEC as never)
  room.legs.push(caller!.leg, agent!.leg, monitor!.leg, payment!.leg)
  monitor!.leg.hears = new Set(['a'])
  const sinks = [new KeepingSink(), new KeepingSink('nothing'), new KeepingSink()]
  room.sinks.push(sinks[0]!)
  caller!.leg.sinks.push(sinks[1]!)
  agent!.leg.sinks.push(sinks[2]!)
  const signal = new Float64Array((PAUSE + 40) * 160)
  const phases = [offset, 2 * offset] as const
  addKey(signal, { key, from: (PAUSE + 5) * 160 + offset, samples: KEY_SAMPLES, dbm0: -10, phases })
  if (speech !== null) for (let i = 0; i < signal.length; i++) signal[i]! += 0.25 * (speech[i] ?? 0)
  const line = toPcm(signal)
  run(room, PAUSE + 40, (tick, now) => {
    if (tick === PAUSE) room.pause = { maskDtmf: true, destinationLegId: 'd', reason: 'payment' }
    caller!.speak(line.subarray(tick * 160, (tick + 1) * 160), now)
  })
  return {
    heard: { agent: agent!.heard(PAUSE), monitor: monitor!.heard(PAUSE) },
    sunk: sinks.flatMap(sink => [sink.samples('inbound', PAUSE), sink.samples('outbound', PAUSE)]),
    payment: payment!.heard(PAUSE),
  }
}

test('of a key in a pause nothing comes out but at the payment line, from its first sample on, wherever in a frame it begins', () => {
  for (const key of KEYS) {
    for (const offset of [0, 37, 80, 151]) {
      const { heard, sunk, payment } = outputs(key, offset, null)
      const what = `${key}, ${offset} samples into a frame`
      for (const [who, samples] of Object.entries(heard)) {
        assert.ok(most(samples, key) < NOTHING_DBOV, `${what}: ${who} hears ${most(samples, key).toFixed(1)} dBov`)
      }
      for (const samples of sunk)
        assert.ok(
          samples.every(sample => sample === 0),
          what,
        )
      assert.ok(most(payment, key) > -20, `${what}: at the payment line`)
    }
  }
})

test('nor of one that is pressed while its owner speaks, of whom the rest is heard', () => {
  const random = seeded(3)
  const speech = prompt('announcement')
  for (const key of KEYS) {
    const from = Math.floor(random() * 8000)
    const { heard } = outputs(key, 53, speech.subarray(from))
    const left = most(heard.agent, key, 320, narrow)
    assert.ok(left < NOTHING_DBOV, `${key}: ${left.toFixed(1)} dBov`)
    assert.ok(
      heard.agent.some(sample => Math.abs(sample) > 300),
      `${key}: the voice`,
    )
  }
})

test.run()
