const object = (properties: object, required: string[] = []) => ({
  type: 'object',
  properties,
  ...(required.length > 0 && { required }),
  additionalProperties: false,
})

interface BuiltIn {
  description: string
  /** JSON Schema of the model's input. */
  parameters: Record<string, unknown>
}

/** Built-in abilities of an assistant, by name: their description and parameters for the model. */
export const BUILT_IN_TOOLS = {
  transfer: { description: 'Gives the call to somebody.', parameters: object({}) },
  end_call: { description: 'Ends the call, after goodbye.', parameters: object({}) },
  book_callback: {
    description:
      'Books a call back to the caller, who has asked for it or agreed to it. Tell him afterwards whether it is booked.',
    parameters: object({
      phone: { type: 'string', description: "The number to call, in E.164, if it is not the caller's own." },
      note: { type: 'string', description: 'What it is about, for who calls back.' },
    }),
  },
  search_knowledge: {
    description: 'Looks something up in the knowledge base.',
    parameters: object({ query: { type: 'string', minLength: 1, maxLength: 500 } }, ['query']),
  },
  press_keys: {
    description: "Presses keys of the phone, as the other party's menu asks for them.",
    parameters: object({ keys: { type: 'string', pattern: '^[0-9*#A-D]{1,32}$' } }, ['keys']),
  },
  take_payment: {
    description: 'Brings in the payment line, which takes the card by its keys. You are told whether it was paid.',
    parameters: object(
      {
        amount: { type: 'string', pattern: '^[0-9]{1,9}([.][0-9]{1,2})?$' },
        description: { type: 'string', maxLength: 200, description: 'What is paid for.' },
      },
      ['amount'],
    ),
  },
} as const satisfies Record<string, BuiltIn>

export type BuiltInKind = keyof typeof BUILT_IN_TOOLS
export type ToolKind = 'http' | BuiltInKind

export const TOOL_KINDS: [ToolKind, ...ToolKind[]] = ['http', ...(Object.keys(BUILT_IN_TOOLS) as BuiltInKind[])]
