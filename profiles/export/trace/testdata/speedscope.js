// Reads a trace with the importer of speedscope's npm package and prints what it found as JSON:
//
//	node speedscope.js FOLDER-OF-THE-PACKAGE TRACE
//
// The package has no entry point but its web page, so its script runs without one, until it asks
// for the page, and leaves its importer of the Trace Event Format in importTrace.
const fs = require('fs')
const path = require('path')
const vm = require('vm')

const [folder, trace] = process.argv.slice(2)
const release = path.join(folder, 'dist', 'release')
const script = fs.readdirSync(release).find(name => /^speedscope.*\.js$/.test(name))
const source = fs.readFileSync(path.join(release, script), 'utf8')
const used = /Importing as Trace Event Format profile"\),(\w+)\(/.exec(source)
if (!used) throw new Error(`${script}: no importer of trace events: is its version another than 1.25?`)
const definition = source.indexOf(`function ${used[1]}(`)
const prepare = /[,\s](\w+)=\w+\(\(\)=>\{"use strict"/.exec(source.slice(definition))[1] // of the importer's module
const expose = `globalThis.importTrace=t=>(${prepare}(),${used[1]}(t));`
const context = vm.createContext({ console: { log() {}, warn: console.error, error: console.error }, TextDecoder, TextEncoder, URL, performance })
try {
	vm.runInContext(source.slice(0, definition) + expose + source.slice(definition), context)
} catch (e) {
	if (!context.importTrace) throw e
}
context.text = fs.readFileSync(trace, 'utf8')
const group = vm.runInContext('importTrace(JSON.parse(text))', context)
const threads = group.profiles.map(p => {
	const frames = {}
	p.forEachFrame(f => { frames[f.name] = { total: f.getTotalWeight(), self: f.getSelfWeight() } })
	let depth = 0, deepest = 0
	p.forEachCall(() => { deepest = Math.max(deepest, ++depth) }, () => { depth-- })
	return { name: p.getName(), weight: p.getTotalWeight(), frames, deepest }
})
console.log(JSON.stringify(threads))
