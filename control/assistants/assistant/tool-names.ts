import type { BuiltInKind } from '../../tools/built-in.ts'

/** Names of an assistant's built-in tools. */
export const END_CALL = 'end_call' satisfies BuiltInKind
export const BOOK_CALLBACK = 'book_callback' satisfies BuiltInKind
export const SEARCH_KNOWLEDGE = 'search_knowledge' satisfies BuiltInKind
export const PRESS_KEYS = 'press_keys' satisfies BuiltInKind
export const TAKE_PAYMENT = 'take_payment' satisfies BuiltInKind
/** Before the name of who the call is given to. */
export const TRANSFER_PREFIX = 'transfer_to_'
