/** Names of what assistants can do by themselves. */
export const END_CALL = 'end_call'
export const BOOK_CALLBACK = 'book_callback'
/** Before the name of who the call is given to. */
export const TRANSFER_PREFIX = 'transfer_to_'
