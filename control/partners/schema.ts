import Type from 'typebox'
import { input, objectName, partialInput } from '../kernel/schema.ts'
import { limitSchemas as limits } from '../usage/client.ts'

export const createBody = input({ name: objectName(), limits: Type.Optional(partialInput(limits)) })
export const changeBody = input({ name: Type.Optional(objectName()), limits: Type.Optional(partialInput(limits)) })
