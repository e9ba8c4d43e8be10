import Type from 'typebox'
import { type Catalogue, catalogueRoutes } from '../../http/catalogue.ts'
import { invalid, type Problem } from '../../http/errors.ts'
import { merge } from '../../http/merge.ts'
import { operations, type Route } from '../../http/route.ts'
import { DEFAULT_SETTINGS } from '../profile.ts'
import { settingsSchema } from '../schema.ts'
import { COPILOT_TEMPLATES, type CopilotTemplate } from './all.ts'

const copilotTemplateSchema = Type.Object({
  id: Type.String({ description: 'Send it as `template_id` of a new profile.' }),
  object: Type.Literal('copilot_template'),
  livemode: Type.Boolean(),
  name: Type.String(),
  description: Type.String(),
  settings: settingsSchema,
})

const catalogue: Catalogue<typeof copilotTemplateSchema> = {
  api: operations('Copilot profiles', 'copilot'),
  reply: copilotTemplateSchema,
  description: 'Templates for new profiles; `settings` are those that a new profile gets.',
  all: ({ livemode }) =>
    COPILOT_TEMPLATES.map(({ settings, ...template }) => ({
      ...template,
      object: 'copilot_template' as const,
      livemode,
      settings: merge(DEFAULT_SETTINGS, settings),
    })),
}

export const copilotTemplateRoutes = (): Route[] => catalogueRoutes(catalogue)

/** The template that a new profile is made from. */
export const templateOf = (id: string): CopilotTemplate | Problem =>
  COPILOT_TEMPLATES.find(template => template.id === id) ?? invalid('template_id', `No such copilot template: ${id}`)
