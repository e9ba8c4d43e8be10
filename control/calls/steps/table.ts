import type { CommandName, EndedReason } from '../../../media/protocol.ts'

/**
 * This table alone decides what a party of a call does next. A leg's step is in its row, so if a control process is killed between a commit
 * and the resulting command, the next one can tell from the row what to send.
 */

/** Decides what follows a step, and registers the senders of its commands. */
export type Leader = 'call' | 'room' | 'queue' | 'program'

interface Rule {
  /** What the party does. */
  means: string
  leads: Leader
  /** Commands to media, once the leg is in this step. */
  sends: readonly CommandName[]
  /**
   * When they are sent. `begun`: when the step begins. `heard`: repeatedly, until media has done it, as `prompted` says. `left`:
   * repeatedly, until the leg is in another step.
   */
  until: 'begun' | 'heard' | 'left'
  /** Of a participant in this step, in the API. */
  shown: 'connecting' | 'waiting' | 'joined'
  /** What may come next. */
  next: readonly string[]
}

/** A leg may be hung up in every step. */
const GONE = ['hanging_up', 'ended'] as const
/** Where an answered call can be led. */
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
    sends: ['leg.dial', 'leg.hangup'],
    until: 'left',
    shown: 'connecting',
    // It may have answered before the row said that it was dialled.
    next: ['dialing', 'bridging', 'detecting', ...ANSWERED],
  },
  dialing: {
    means: 'is being dialled',
    leads: 'call',
    sends: [],
    until: 'begun',
    shown: 'connecting',
    // Its INVITE had not left when media died.
    next: ['to_dial', 'bridging', 'detecting', ...ANSWERED],
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
    // A member's phone rings until the party outside answers that it calls.
    next: ['answering', 'bridging', ...LED],
  },
  connected: {
    means: 'talks with somebody who was rung',
    leads: 'queue',
    sends: ['leg.stop_play'],
    until: 'heard',
    shown: 'joined',
    // A party that a member called and transfers moves to another call.
    next: ['bridged', 'bridging', ...LED],
  },
  bridging: {
    means: "was rung, has answered, and is on the way into the call's room",
    leads: 'queue',
    sends: ['leg.move', 'leg.update', 'leg.hangup'],
    until: 'left',
    shown: 'connecting',
    // A party that has just answered may be transferred to another call on its way.
    next: ['bridged', 'bridging', ...GONE],
  },
  bridged: {
    means: 'was rung, and talks on the call',
    leads: 'queue',
    sends: ['leg.play', 'leg.stop_play'],
    until: 'heard',
    shown: 'joined',
    // A caller who transfers its call changes places with whoever has answered.
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

/** The step that a leg is in or enters, with its fields. */
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

/** It no longer takes part, and only its end follows: other decisions about such a leg come too late. */
export const isGoing = (step: LegStep): boolean =>
  STEPS[step].shown === 'connecting' && STEPS[step].next.every(next => (GONE as readonly string[]).includes(next))

/** A call's own leg can be led elsewhere in this step: it is answered, and is neither being asked something nor hearing a goodbye. */
export const isLeadable = (step: LegStep): boolean =>
  STEPS[step].shown !== 'connecting' && LED.every(next => mayFollow(step, next))

/** The steps in which a caller may be unanswered: it rings, or hears early media. In any other step it is answered first. */
const RINGING: readonly LegStep[] = ['answering', 'queued', 'calling', 'announcing', 'hanging_up', 'ended']

export const mayRing = (step: LegStep): boolean => RINGING.includes(step)

/** The steps whose commands one leader sends. */
export const stepsOf = (leader: Leader): LegStep[] => ALL_STEPS.filter(step => STEPS[step].leads === leader)
