import type { CommandName, EndedReason } from '../../../media/protocol.ts'

/**
 * Who decides what a party of a call does next: this table, and nobody beside it. A leg's step stands in its row, so that a control
 * process that was killed between a commit and the command that follows from it can tell from the row alone what to send.
 */

/** Who says what comes after a step, and registers what sends its commands. */
export type Leader = 'call' | 'room' | 'queue' | 'program'

interface Rule {
  /** What the party does. */
  means: string
  leads: Leader
  /** What media is told, once the leg is in this step. */
  sends: readonly CommandName[]
  /**
   * When it is sent. `begun`: when the step begins; `heard`: again until media has done it, which `prompted` says; `left`: again until the
   * leg is in another step.
   */
  until: 'begun' | 'heard' | 'left'
  /** Of a participant in this step, in the API. */
  shown: 'connecting' | 'waiting' | 'joined'
  /** What may come next. */
  next: readonly string[]
}

/** Whatever a leg does, it may be hung up. */
const GONE = ['hanging_up', 'ended'] as const
/** Where a call that has been answered can be led by whoever leads it. */
const LED = ['queued', 'calling', 'connected', 'joining', 'program', 'consent', ...GONE] as const
/** What an answer leads to, by the call's target. */
const ANSWERED = ['settled', 'announcing', 'pin', 'leaving', ...LED] as const

export const STEPS = {
  answering: {
    means: 'calls, and is to be answered',
    leads: 'call',
    sends: ['leg.answer'],
    until: 'begun',
    shown: 'connecting',
    next: ANSWERED,
  },
  to_dial: {
    means: 'is to be dialled',
    leads: 'queue',
    sends: ['leg.dial', 'leg.answer', 'leg.hangup'],
    until: 'left',
    shown: 'connecting',
    // It may have answered before it was written down that it was dialled.
    next: ['dialing', 'bridging', 'detecting', ...ANSWERED],
  },
  dialing: {
    means: 'is being dialled',
    leads: 'call',
    sends: [],
    until: 'begun',
    shown: 'connecting',
    next: ['bridging', 'detecting', ...ANSWERED],
  },
  detecting: {
    means: 'has answered, and what leads it waits until it is known whether that is a person',
    leads: 'call',
    sends: [],
    until: 'begun',
    shown: 'connecting',
    next: ['messaging', ...ANSWERED],
  },
  messaging: {
    means: 'is a machine, and records the message that is left there',
    leads: 'call',
    sends: ['leg.play'],
    until: 'begun',
    shown: 'connecting',
    next: GONE,
  },
  consent: {
    means: 'is told that the call is recorded, or asked whether it may be',
    leads: 'call',
    sends: ['leg.stop_listen', 'leg.collect', 'transcript.start'],
    until: 'begun',
    shown: 'connecting',
    next: ['answering', ...LED],
  },
  settled: {
    means: 'hears music or itself',
    leads: 'call',
    sends: ['leg.play', 'leg.stop_play'],
    until: 'heard',
    shown: 'joined',
    next: LED,
  },
  announcing: {
    means: 'hears the announcement that the call is for',
    leads: 'call',
    sends: ['leg.ring', 'leg.play'],
    until: 'begun',
    shown: 'joined',
    next: LED,
  },
  pin: {
    means: "is asked for the room's PIN",
    leads: 'room',
    sends: ['leg.stop_listen', 'leg.collect'],
    until: 'begun',
    shown: 'waiting',
    // Asked again.
    next: ['pin', 'joining', 'leaving', ...GONE],
  },
  joining: {
    means: 'is let into its room, or not',
    leads: 'room',
    sends: ['leg.move', 'leg.play', 'leg.stop_play', 'leg.hangup'],
    until: 'begun',
    shown: 'connecting',
    next: ['waiting', 'joining', 'seated', 'leaving', ...GONE],
  },
  waiting: {
    means: 'waits for a moderator',
    leads: 'room',
    sends: ['leg.play'],
    until: 'begun',
    shown: 'waiting',
    next: ['joining', 'leaving', ...GONE],
  },
  seated: { means: 'is in its room', leads: 'room', sends: [], until: 'begun', shown: 'joined', next: GONE },
  queued: {
    means: 'waits in a queue, with its hold audio',
    leads: 'queue',
    sends: ['leg.ring', 'leg.play'],
    until: 'heard',
    shown: 'waiting',
    next: ['answering', 'leaving', ...LED],
  },
  calling: {
    means: 'hears that somebody is being rung',
    leads: 'queue',
    sends: ['leg.ring', 'leg.move', 'leg.play', 'leg.stop_play'],
    until: 'heard',
    shown: 'waiting',
    next: ['answering', ...LED],
  },
  connected: {
    means: 'talks with somebody who was rung',
    leads: 'queue',
    sends: ['leg.stop_play'],
    until: 'heard',
    shown: 'joined',
    // Who was called by a member that gives it on goes over into another call.
    next: ['bridged', 'bridging', ...LED],
  },
  bridging: {
    means: "was rung, has answered, and is on the way into the call's room",
    leads: 'queue',
    sends: ['leg.move', 'leg.update', 'leg.hangup'],
    until: 'left',
    shown: 'connecting',
    next: ['bridged', ...GONE],
  },
  bridged: {
    means: 'was rung, and talks on the call',
    leads: 'queue',
    sends: ['leg.play', 'leg.stop_play'],
    until: 'heard',
    shown: 'joined',
    // A caller who gives its call on changes places with who has answered.
    next: ['connected', 'bridging', ...GONE],
  },
  program: {
    means: 'is led by a flow or an assistant, which send what they say by themselves',
    leads: 'program',
    sends: [],
    until: 'begun',
    shown: 'joined',
    next: LED,
  },
  leaving: {
    means: 'hears why it must go, and goodbye',
    leads: 'call',
    sends: ['leg.play'],
    until: 'begun',
    shown: 'connecting',
    next: GONE,
  },
  hanging_up: {
    means: 'is to be hung up; who finds nobody hears the busy tone first',
    leads: 'call',
    sends: ['leg.hangup', 'leg.play'],
    until: 'left',
    shown: 'connecting',
    next: GONE,
  },
  ended: { means: 'is gone', leads: 'call', sends: [], until: 'begun', shown: 'connecting', next: [] },
} as const satisfies Record<string, Rule>

export type LegStep = keyof typeof STEPS

export const ALL_STEPS = Object.keys(STEPS) as LegStep[]

/** The step that a leg is in or comes to, with what belongs to it. */
export type Step =
  | { step: 'leaving'; leave_prompt: string; leave_reason: EndedReason }
  | { step: 'hanging_up'; leave_prompt: string | null; leave_reason: EndedReason }
  | { step: 'ended'; left_at: string }
  | { step: 'seated'; joined_at: string }
  | { step: Exclude<LegStep, 'leaving' | 'hanging_up' | 'ended' | 'seated'> }

export const mayFollow = (step: LegStep, next: LegStep): boolean =>
  (STEPS[step].next as readonly LegStep[]).includes(next)

/** The steps that this one may follow. */
export const before = (next: LegStep): LegStep[] => ALL_STEPS.filter(step => mayFollow(step, next))

/** It takes part no more, and nothing but its end follows: what is decided of such a leg comes too late. */
export const isGoing = (step: LegStep): boolean =>
  STEPS[step].shown === 'connecting' && STEPS[step].next.every(next => (GONE as readonly string[]).includes(next))

/** A call's own leg in this step can be led elsewhere: it has been answered, and nobody asks it anything or says goodbye. */
export const isLeadable = (step: LegStep): boolean =>
  STEPS[step].shown !== 'connecting' && LED.every(next => mayFollow(step, next))

/** In these a caller may be who is not answered: it rings, or hears something before its answer. In any other it is answered first. */
const RINGING: readonly LegStep[] = ['answering', 'queued', 'calling', 'announcing', 'hanging_up', 'ended']

export const mayRing = (step: LegStep): boolean => RINGING.includes(step)

/** The steps whose commands one leader sends. */
export const stepsOf = (leader: Leader): LegStep[] => ALL_STEPS.filter(step => STEPS[step].leads === leader)
