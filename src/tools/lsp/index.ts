import { resolve } from 'node:path';
import { TextDocument } from 'vscode-languageserver-textdocument';
import {
  CodeActionKind,
  type Connection,
  createConnection,
  DidChangeWatchedFilesNotification,
  type InitializeParams,
  type InitializeResult,
  MarkupKind,
  ProposedFeatures,
  ResponseError,
  type ServerCapabilities,
  type TextDocumentPositionParams,
  TextDocuments,
  TextDocumentSyncKind,
} from 'vscode-languageserver/node';
import { allDirectives, variables } from '../lookups.ts';
import { VERSION } from '../../version.ts';
import { codeActions } from './actions.ts';
import { completion, documentationOf } from './completion.ts';
import { Diagnostics } from './diagnostics.ts';
import { Files, offsetAt, pathOf, type TextFile } from './files.ts';
import { hover } from './hover.ts';
import { NameIndex } from './name-index.ts';
import { definition, highlights, links, prepareRename, references, rename } from './navigation.ts';
import type { TextPosition, Session } from './session.ts';
import { documentSymbols, workspaceSymbols } from './symbols.ts';
import { foldingRanges, formatted } from './text-shape.ts';
import { isIgnored, Workspace } from './workspace.ts';

/** Registers the handlers of all requests. The failure of one is logged at the client, and its result is empty. */
function registerHandlers(connection: Connection, session: Session): void {
  const guard = new RequestGuard(connection, session);
  registerTypingRequests(connection, session, guard);
  registerNavigationRequests(connection, session, guard);
  registerFileRequests(connection, session, guard);
}

function registerTypingRequests(connection: Connection, session: Session, guard: RequestGuard): void {
  connection.onCompletion((params) => guard.at(params, (position) => [...completion(position, session)]));
  connection.onCompletionResolve((item) => {
    const value = guard.guarded(() => documentationOf(item.data ?? {}, session.workspace.table));
    return value ? { ...item, documentation: { kind: MarkupKind.Markdown, value } } : item;
  });
  connection.onHover((params) => guard.at(params, (position) => hover(position, session)));
  connection.onCodeAction(({ context, range, textDocument }) =>
    guard.in(textDocument, (file) => {
      const { diagnostics, only } = context;
      return [...codeActions({ file, range, diagnostics, only }, session)];
    }),
  );
}

function registerNavigationRequests(connection: Connection, session: Session, guard: RequestGuard): void {
  connection.onDefinition((params) => guard.at(params, (position) => [...definition(position, session)]));
  connection.onReferences((params) =>
    guard.at(params, (position) => [...references(position, session, params.context.includeDeclaration)]),
  );
  connection.onDocumentHighlight((params) =>
    guard.at(params, (position) => [...highlights(position, session)]),
  );
  connection.onPrepareRename((params) => guard.at(params, (position) => prepareRename(position, session)));
  connection.onRenameRequest((params) =>
    guard.at(params, (position) => rename(position, params.newName, session)),
  );
}

function registerFileRequests(connection: Connection, session: Session, guard: RequestGuard): void {
  connection.onDocumentSymbol(({ textDocument }) =>
    guard.in(textDocument, (file) => [...documentSymbols(file, session)]),
  );
  connection.onWorkspaceSymbol(({ query }) => guard.guarded(() => [...workspaceSymbols(query, session)]));
  connection.onFoldingRanges(({ textDocument }) =>
    guard.in(textDocument, (file) => [...foldingRanges(file)]),
  );
  connection.onDocumentFormatting(({ options, textDocument }) =>
    guard.in(textDocument, (file) => [...formatted(file, options)]),
  );
  connection.onDocumentLinks(({ textDocument }) =>
    guard.in(textDocument, (file) => [...links(file, session)]),
  );
}

/** Finds the document of a request, and confines a failure to that request. */
class RequestGuard {
  readonly #connection: Connection;
  readonly #session: Session;

  constructor(connection: Connection, session: Session) {
    this.#connection = connection;
    this.#session = session;
  }

  guarded<T>(what: () => T): T | null {
    try {
      return what();
    } catch (error) {
      // A refusal is a regular response.
      if (error instanceof ResponseError) throw error;
      this.#connection.console.error(String((error as Error).stack ?? error));
      return null;
    }
  }

  in<T>({ uri }: { uri: string }, what: (file: TextFile) => T): T | null {
    return this.guarded(() => {
      const file = this.#session.files.at(pathOf(uri));
      return file ? what(file) : null;
    });
  }

  at<T>({ position, textDocument }: TextDocumentPositionParams, what: (at: TextPosition) => T): T | null {
    return this.in(textDocument, (file) => what({ file, offset: offsetAt(file.source, position) }));
  }
}

/** The capabilities of the server. */
const CAPABILITIES: ServerCapabilities = {
  textDocumentSync: { openClose: true, change: TextDocumentSyncKind.Incremental, save: false },
  completionProvider: { triggerCharacters: ['$', '{', '@', '/', '=', ':'], resolveProvider: true },
  hoverProvider: true,
  definitionProvider: true,
  referencesProvider: true,
  documentHighlightProvider: true,
  renameProvider: { prepareProvider: true },
  documentSymbolProvider: true,
  workspaceSymbolProvider: true,
  foldingRangeProvider: true,
  documentFormattingProvider: true,
  documentLinkProvider: {},
  codeActionProvider: { codeActionKinds: [CodeActionKind.QuickFix, CodeActionKind.SourceFixAll] },
  workspace: { workspaceFolders: { supported: true, changeNotifications: true } },
};

/** The options that a client may send at the start. */
interface Options {
  /** The main configuration file, if it should not be searched for; relative to the first open folder. */
  readonly main?: string;
  /** Directory that relative paths of logs, data and roots start from; relative to the first open folder. */
  readonly prefix?: string;
}

/** Serves one client until it exits. */
class LanguageServer {
  readonly #connection: Connection;
  readonly #documents = new TextDocuments(TextDocument);
  readonly #session: Session & { snippets: boolean };
  #watchesFiles = false;
  #tellsOfFolders = false;

  constructor(connection: Connection) {
    this.#connection = connection;
    const table = allDirectives();
    const files = new Files((name) => table.named(name).length > 0);
    const workspace = new Workspace(files, table);
    const diagnostics = new Diagnostics(workspace, {
      publish: (params) => void connection.sendDiagnostics(params),
      failed: (error) => connection.console.error(`check failed: ${String((error as Error).stack ?? error)}`),
    });
    const byName = new Map(variables().map((facts) => [facts.name, facts]));
    const names = new NameIndex(workspace);
    this.#session = { files, workspace, names, diagnostics, variables: byName, snippets: false };
  }

  /** Starts to serve requests. */
  listen(): void {
    const connection = this.#connection;
    connection.onInitialize((params) => this.#initialize(params));
    connection.onInitialized(() => this.#initialized());
    connection.onDidChangeWatchedFiles(({ changes }) => {
      if (changes.some(({ uri }) => !isIgnored(pathOf(uri)))) this.#refresh();
    });
    connection.onShutdown(() => this.#session.diagnostics.stop());
    this.#follow();
    registerHandlers(connection, this.#session);
    this.#documents.listen(connection);
    connection.listen();
  }

  #initialize({ capabilities, initializationOptions, ...params }: InitializeParams): InitializeResult {
    const { textDocument, workspace } = capabilities;
    this.#session.snippets = textDocument?.completion?.completionItem?.snippetSupport === true;
    this.#watchesFiles = workspace?.didChangeWatchedFiles?.dynamicRegistration === true;
    this.#tellsOfFolders = workspace?.workspaceFolders === true;
    const { main, prefix } = (initializationOptions ?? {}) as Options;
    const folders = (params.workspaceFolders ?? []).map(({ uri }) => pathOf(uri));
    const absolute = (path: string | undefined): string | undefined =>
      path ? resolve(folders[0] ?? '', path) : undefined;
    this.#session.workspace.settings = { folders, main: absolute(main), prefix: absolute(prefix) };
    return { capabilities: CAPABILITIES, serverInfo: { name: 'gw', version: VERSION } };
  }

  #initialized(): void {
    const connection = this.#connection;
    if (this.#tellsOfFolders) {
      connection.workspace.onDidChangeWorkspaceFolders(({ added, removed }) => {
        const { settings } = this.#session.workspace;
        const gone = new Set(removed.map(({ uri }) => pathOf(uri)));
        const folders = settings.folders.filter((folder) => !gone.has(folder));
        this.#session.workspace.settings = {
          ...settings,
          folders: [...folders, ...added.map(({ uri }) => pathOf(uri))],
        };
        this.#refresh();
      });
    }
    if (!this.#watchesFiles) return;
    const watchers = [{ globPattern: '**/*' }];
    void connection.client.register(DidChangeWatchedFilesNotification.type, { watchers });
  }

  /** Follows documents as they are opened, changed and closed. */
  #follow(): void {
    const { diagnostics, files, workspace } = this.#session;
    this.#documents.onDidChangeContent(({ document }) => {
      const path = pathOf(document.uri);
      const isNew = !files.isOpen(path);
      files.open({ path, uri: document.uri, version: document.version, text: document.getText() });
      if (isNew) workspace.forget();
      diagnostics.changed();
    });
    this.#documents.onDidClose(({ document }) => {
      files.close(pathOf(document.uri));
      this.#refresh();
    });
  }

  #refresh(): void {
    this.#session.workspace.forget();
    this.#session.diagnostics.changed();
  }
}

/**
 * Serves the language server protocol on standard input and output. The process ends when the client exits or closes
 * the connection. All other output goes to the client's log, because standard output belongs to the protocol.
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
