/** What the three pages have in common. */
export const $ = id => document.getElementById(id)

/** Shows one of the sections of the page. */
export function show(id) {
  for (const section of document.querySelectorAll('main > section, main > form')) section.hidden = section.id !== id
  const first = $(id).querySelector('input, button')
  first?.focus({ preventScroll: true })
}

/** Says something; `bad`: something went wrong. */
export function say(text, bad = false) {
  const notice = $('notice')
  notice.textContent = text
  notice.classList.toggle('bad', bad)
}

/** Shows which way the audio of a line goes. */
export function showWay(line) {
  const tell = isWebRtc => {
    $('way').textContent = isWebRtc ? 'Audio over WebRTC' : 'Audio over the WebSocket'
  }
  line.addEventListener('way', ({ detail }) => tell(detail.isWebRtc))
  tell(false)
}

/** A switch that says what it is by `aria-pressed`. */
export function toggle(button, change) {
  button.addEventListener('click', () => {
    const isOn = button.getAttribute('aria-pressed') !== 'true'
    button.setAttribute('aria-pressed', String(isOn))
    change(isOn)
  })
}

/** Audio that does not run after this time will not by itself [ms]. */
const RUNS_MS = 2000

/** The duration of a call that has lasted so long, and the levels of both sides, until the function that it returns is called. */
export function startClock(sound, seconds = 0) {
  const began = performance.now() - seconds * 1000
  const silent = setTimeout(() => {
    if (!sound.isRunning)
      say('The browser plays no sound. Connect a loudspeaker or headphones, then load this page again.', true)
  }, RUNS_MS)
  const [own, others] = [$('level'), $('heard')]
  const clock = $('clock')
  const timer = setInterval(() => {
    const seconds = Math.floor((performance.now() - began) / 1000)
    clock.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
    own.value = sound.level
    others.value = sound.heard
  }, 100)
  return () => {
    clearTimeout(silent)
    clearInterval(timer)
  }
}

/** A keypad that also listens to the keyboard, but not while something is typed. */
export function keypad(press) {
  for (const key of document.querySelectorAll('.keypad button')) {
    key.addEventListener('click', () => press(key.value))
  }
  document.addEventListener('keydown', event => {
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement
    if (!isTyping && !event.ctrlKey && !event.metaKey && /^[0-9*#]$/.test(event.key)) press(event.key)
  })
}
