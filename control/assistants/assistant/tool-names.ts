import type { BuiltInKind } from '../../tools/built-in.ts'

/** Names of an assistant's built-in tools. */
export const END_CALL = 'end_call' satisfies BuiltInKind
export const BOOK_CALLBACK = 'book_callback' satisfies BuiltInKind
export const SEARCH_KNOWLEDGE = 'search_knowledge' satisfies BuiltInKind
export const PRESS_KEYS = 'press_keys' satisfies BuiltInKind
export const TAKE_PAYMENT = 'take_payment' satisfies BuiltInKind
/** Prefix of the tools that hand the call over, before the target's name. */
export const TRANSFER_PREFIX = 'transfer_to_'
