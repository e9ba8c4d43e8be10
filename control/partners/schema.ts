import Type from 'typebox'
import { input, partialInput } from '../kernel/schema.ts'
import { limitSchemas as limits, clientName as name } from '../usage/client.ts'

export const createBody = input({ name, limits: Type.Optional(partialInput(limits)) })
export const changeBody = input({ name: Type.Optional(name), limits: Type.Optional(partialInput(limits)) })
