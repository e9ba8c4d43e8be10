import { escapeHtml } from './html.ts'

interface Field {
  name: string
  in: string
  required?: boolean
}

/** The form of one operation; `docs-try.js` handles it. `body`: an initial example, null: the operation has none. */
export function tryForm(
  { id, method, path }: { id: string; method: string; path: string },
  parameters: readonly Field[],
  body: string | null,
): string {
  const fields = parameters.filter(one => one.in === 'path' || one.in === 'query').map(field)
  const draft =
    body === null
      ? ''
      : `<label>Body<textarea name="body" rows="6" spellcheck="false">${escapeHtml(body)}</textarea></label>`
  return `<details class="try"><summary>Try it</summary>
<form data-method="${method.toUpperCase()}" data-path="${escapeHtml(path)}" aria-label="${escapeHtml(id)}">
${fields.join('\n')}${draft}
<button>Send with the test key</button>
<output></output>
</form></details>`
}

const field = ({ name, in: place, required }: Field): string =>
  `<label>${escapeHtml(name)}<input name="${place}.${escapeHtml(name)}"${required ? ' required' : ''} autocomplete="off"></label>`

/** The input of the key that all forms share. */
export const KEY_FIELD = `<p class="key"><label>Test key for “Try it”<input id="test-key" type="password" placeholder="sk_test_…" autocomplete="off" spellcheck="false"></label>
It stays in this page. Live keys are refused here: nobody outside is called by a test key.</p>`
