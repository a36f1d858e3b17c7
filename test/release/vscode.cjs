/** What the language client needs of VS Code's `vscode`: one open document, and the diagnostics that it gets. */
const { EventEmitter } = require('node:events');

/** An event of VS Code: a function that takes a listener. */
function event(emitter, name) {
  return (listener, self) => {
    const bound = listener.bind(self);
    emitter.on(name, bound);
    return { dispose: () => emitter.off(name, bound) };
  };
}

class Position {
  constructor(line, character) {
    Object.assign(this, { line, character });
  }
}

class Range {
  constructor(start, end) {
    Object.assign(this, { start, end });
  }
}

class Diagnostic {
  constructor(range, message, severity) {
    Object.assign(this, { range, message, severity });
  }
}

class Uri {
  static parse(text) {
    const { protocol, pathname } = new URL(text);
    return Object.assign(new Uri(), {
      scheme: protocol.slice(0, -1),
      path: pathname,
      fsPath: decodeURIComponent(pathname),
      toString: () => text,
    });
  }
}

class Emitter {
  #emitter = new EventEmitter();
  event = event(this.#emitter, 'fire');
  fire(value) {
    this.#emitter.emit('fire', value);
  }
  dispose() {
    this.#emitter.removeAllListeners();
  }
}

class CancellationTokenSource {
  token = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose() {} }) };
  cancel() {}
  dispose() {}
}

/** Anything else: a class, a function, a namespace and an event, all of which do nothing. */
const nothing = new Proxy(class {}, {
  get: (target, name) => (name === 'then' ? undefined : (Reflect.get(target, name) ?? nothing)),
  apply: () => nothing,
});

/** A namespace with what is given; the rest does nothing. */
const rest = (given) =>
  new Proxy(given, { get: (target, name) => (name in target ? target[name] : nothing) });

/** The other side of the module: what a user does, and sees. */
const editor = new EventEmitter();
editor.settings = {};
editor.documents = [];

module.exports = rest({
  editor,
  Position,
  Range,
  Diagnostic,
  Uri,
  EventEmitter: Emitter,
  CancellationTokenSource,
  version: '1.91.0',
  workspace: rest({
    get textDocuments() {
      return editor.documents;
    },
    getConfiguration: () => ({ get: (name, fallback) => editor.settings[name] ?? fallback }),
    onDidChangeConfiguration: event(editor, 'settings'),
    onDidOpenTextDocument: event(editor, 'open'),
    onDidChangeTextDocument: event(editor, 'change'),
    onDidCloseTextDocument: event(editor, 'close'),
  }),
  window: rest({
    showErrorMessage: async (message) => void editor.emit('error message', message),
  }),
  languages: rest({
    match: (selector, { languageId }) =>
      selector.some?.(({ language }) => language === languageId) ? 10 : 0,
    createDiagnosticCollection: () => ({
      set: (uri, diagnostics) => editor.emit('diagnostics', uri.toString(), diagnostics),
      delete() {},
      dispose() {},
    }),
  }),
});
