import { resolve } from 'node:path';
import { DidChangeWatchedFilesNotification, TextDocuments } from 'vscode-languageserver/node';
import type { Connection, InitializeParams, InitializeResult } from 'vscode-languageserver/node';
import { TextDocument } from 'vscode-languageserver-textdocument';
import { directiveTable, variables } from '../lookups.ts';
import { VERSION } from '../version.ts';
import { answer } from './answers.ts';
import { CAPABILITIES } from './capabilities.ts';
import { Diagnostics } from './diagnostics.ts';
import { Files } from './files.ts';
import { NameIndex } from './name-index.ts';
import { pathOf } from './places.ts';
import { isIgnored } from './search.ts';
import type { Session } from './session.ts';
import { Workspace } from './workspace.ts';

/** What a client may say of its configuration when it starts the server. */
interface Options {
  /** The main configuration file, where it is not to be found out; relative to the first folder that is open. */
  readonly main?: string;
  /** Directory that relative paths of logs, data and roots start from; relative as well. */
  readonly prefix?: string;
}

/** Serves one client until it says that it leaves. */
export class LanguageServer {
  readonly #connection: Connection;
  readonly #documents = new TextDocuments(TextDocument);
  readonly #session: Session & { snippets: boolean };
  #watchesFiles = false;
  #tellsOfFolders = false;

  constructor(connection: Connection) {
    this.#connection = connection;
    const table = directiveTable();
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

  /** Begins to answer. */
  listen(): void {
    const connection = this.#connection;
    connection.onInitialize((params) => this.#initialize(params));
    connection.onInitialized(() => this.#initialized());
    connection.onDidChangeWatchedFiles(({ changes }) => {
      if (changes.some(({ uri }) => !isIgnored(pathOf(uri)))) this.#refresh();
    });
    connection.onShutdown(() => this.#session.diagnostics.stop());
    this.#follow();
    answer(connection, this.#session);
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

  /** Documents as they are opened, typed in and closed. */
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
