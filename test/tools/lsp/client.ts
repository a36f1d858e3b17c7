import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  createProtocolConnection,
  type Diagnostic,
  type InitializeResult,
  type Position,
  type PublishDiagnosticsParams,
  type Range,
  type TextDocumentContentChangeEvent,
} from 'vscode-languageserver/node';
import { GW } from '../../harness/gateway.ts';
import type { Owner } from '../../harness/owner.ts';

type Files = Readonly<Record<string, string>>;

interface ClientOptions {
  readonly initializationOptions?: object;
  /** Whether the client supports snippets. Default true. */
  readonly snippets?: boolean;
  /** Whether the directory of the files is open as a workspace. Default true. */
  readonly workspace?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

interface Waiting {
  readonly isIt: (params: PublishDiagnosticsParams) => boolean;
  readonly resolve: (params: PublishDiagnosticsParams) => void;
}

/** An editor with `gw lsp`, in its own directory; both end with the test, which fails when the server does not end well. */
export class Client {
  readonly dir: string;
  readonly #child;
  readonly #connection;
  readonly #versions = new Map<string, number>();
  readonly #texts = new Map<string, string>();
  readonly #shown = new Map<string, PublishDiagnosticsParams>();
  #waiting: Waiting[] = [];
  #log = '';

  constructor(dir: string, env: NodeJS.ProcessEnv = {}) {
    this.dir = dir;
    this.#child = spawn(process.execPath, [GW, 'lsp', '--stdio'], {
      cwd: dir,
      env: { ...process.env, ...env },
    });
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#log += text));
    this.#connection = createProtocolConnection(this.#child.stdout, this.#child.stdin);
    this.#connection.onNotification('textDocument/publishDiagnostics', (params: PublishDiagnosticsParams) => {
      this.#shown.set(params.uri, params);
      for (const one of this.#waiting.filter(({ isIt }) => isIt(params))) one.resolve(params);
      this.#waiting = this.#waiting.filter(({ isIt }) => !isIt(params));
    });
    this.#connection.onNotification('window/logMessage', ({ message }: { message: string }) => {
      this.#log += `${message}\n`;
    });
    this.#connection.onRequest('client/registerCapability', () => null);
    this.#connection.listen();
  }

  initialize({
    initializationOptions,
    snippets = true,
    workspace = true,
  }: ClientOptions): Promise<InitializeResult> {
    return this.request('initialize', {
      processId: process.pid,
      rootUri: null,
      initializationOptions,
      workspaceFolders: workspace ? [{ uri: pathToFileURL(this.dir).href, name: 'test' }] : null,
      capabilities: {
        textDocument: { completion: { completionItem: { snippetSupport: snippets } } },
        workspace: { workspaceFolders: true, didChangeWatchedFiles: { dynamicRegistration: true } },
      },
    });
  }

  /** What the server wrote besides the protocol. */
  get log(): string {
    return this.#log;
  }

  /** Files on the disk. */
  write(files: Files): void {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(this.dir, path)), { recursive: true });
      writeFileSync(join(this.dir, path), content);
    }
  }

  uri(path: string): string {
    return path.includes(':') ? path : pathToFileURL(join(this.dir, path)).href;
  }

  request<T>(method: string, params: object): Promise<T> {
    return this.#connection.sendRequest(method, params);
  }

  notify(method: string, params: object): Promise<void> {
    return this.#connection.sendNotification(method, params);
  }

  async open(path: string, text: string): Promise<void> {
    this.#versions.set(path, 1);
    this.#texts.set(path, text);
    const textDocument = { uri: this.uri(path), languageId: 'gateway', version: 1, text };
    await this.notify('textDocument/didOpen', { textDocument });
  }

  /** Opens a text with a cursor in a directory of its own, beside other files; gives what a request about the cursor needs. */
  async openAt(dir: string, marked: string, files: Files = {}) {
    const { text, position } = withCursor(marked);
    for (const [path, content] of Object.entries(files)) this.write({ [`${dir}/${path}`]: content });
    await this.open(`${dir}/gateway.conf`, text);
    return { text, textDocument: { uri: this.uri(`${dir}/gateway.conf`) }, position };
  }

  /** Replaces what `range` covers in an open text. */
  async change(path: string, ...contentChanges: readonly TextDocumentContentChangeEvent[]): Promise<void> {
    const version = (this.#versions.get(path) ?? 0) + 1;
    this.#versions.set(path, version);
    const textDocument = { uri: this.uri(path), version };
    await this.notify('textDocument/didChange', { textDocument, contentChanges });
  }

  async close(path: string): Promise<void> {
    await this.notify('textDocument/didClose', { textDocument: { uri: this.uri(path) } });
    this.#versions.delete(path);
  }

  /** The diagnostics of the text as it is now; waits until they are known. */
  async diagnostics(path: string): Promise<readonly Diagnostic[]> {
    const uri = this.uri(path);
    const version = this.#versions.get(path);
    const isIt = (params: PublishDiagnosticsParams): boolean =>
      params.uri === uri && (version === undefined || (params.version ?? 0) >= version);
    const shown = this.#shown.get(uri);
    if (shown && isIt(shown)) return shown.diagnostics;
    return (await new Promise<PublishDiagnosticsParams>((resolve) => this.#waiting.push({ isIt, resolve })))
      .diagnostics;
  }

  /** The next diagnostics of a file, whatever its current ones are. */
  nextDiagnostics(path: string): Promise<readonly Diagnostic[]> {
    this.#shown.delete(this.uri(path));
    return this.diagnostics(path);
  }

  /** Ends the session as the protocol requires; gives the exit code. */
  async leave(): Promise<number | null> {
    const ended = new Promise<number | null>((resolve) => this.#child.once('exit', resolve));
    await this.request('shutdown', {});
    await this.notify('exit', {});
    const code = await ended;
    this.#connection.dispose();
    return code;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

/** Starts an editor on these files. */
export async function startClient(t: Owner, files: Files = {}, options: ClientOptions = {}): Promise<Client> {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'gw-lsp-')));
  const client = new Client(dir, options.env);
  client.write(files);
  t.onTestFinished(async () => {
    const code = await client.leave();
    rmSync(dir, { recursive: true });
    if (code !== 0 || client.log !== '') throw new Error(`gw lsp ended with ${code} and said: ${client.log}`);
  });
  await client.initialize(options);
  await client.notify('initialized', {});
  return client;
}

/** A text without its cursor, `|`, and where the cursor was. */
export function withCursor(marked: string): { text: string; position: Position } {
  const offset = marked.indexOf('|');
  if (offset < 0) throw new Error(`no cursor in "${marked}"`);
  const before = marked.slice(0, offset).split('\n');
  const position = { line: before.length - 1, character: (before.at(-1) ?? '').length };
  return { text: marked.slice(0, offset) + marked.slice(offset + 1), position };
}

/** The part of a text that a range covers. */
export function covered(text: string, { start, end }: Range): string {
  const lines = text.split('\n');
  const offset = ({ line, character }: Position): number =>
    lines.slice(0, line).reduce((sum, each) => sum + each.length + 1, 0) + character;
  return text.slice(offset(start), offset(end));
}
