import { createConnection, ProposedFeatures } from 'vscode-languageserver/node';
import { LanguageServer } from './server.ts';

/**
 * Serves the language server protocol on standard input and output; the process ends when the client says so or goes away.
 * Whatever would be printed goes to the client's log instead: standard output belongs to the protocol.
 */
export function serveLanguage(): Promise<never> {
  const connection = createConnection(ProposedFeatures.all, process.stdin, process.stdout);
  for (const level of ['log', 'info', 'warn', 'error', 'debug'] as const) {
    globalThis.console[level] = (...words: readonly unknown[]) =>
      connection.console.log(words.map(String).join(' '));
  }
  new LanguageServer(connection).listen();
  return new Promise(() => undefined);
}
