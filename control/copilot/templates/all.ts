import { readFileSync } from 'node:fs'
import { PACKAGE_ROOT } from '../../kernel/package.ts'
import type { ProfileSettings } from '../schema.ts'

/** A template for a profile; missing settings have their defaults. */
export interface CopilotTemplate {
  id: string
  name: string
  description: string
  settings: Partial<ProfileSettings>
}

/** JSON of the templates, in the form of the API. */
const FILE = new URL('fixtures/copilot/templates.json', PACKAGE_ROOT)

export const COPILOT_TEMPLATES: readonly CopilotTemplate[] = JSON.parse(readFileSync(FILE, 'utf8'))
