// A control process up to the moment when it would begin: its modules are loaded, nothing is opened. Told so, it begins.
import '../../dist/control/wiring/app.js'

process.once('message', () => import('../../dist/control/wiring/main.js'))
process.once('disconnect', () => process.exit(0))
