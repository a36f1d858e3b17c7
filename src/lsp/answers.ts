import { MarkupKind, ResponseError } from 'vscode-languageserver/node';
import type { Connection, TextDocumentPositionParams } from 'vscode-languageserver/node';
import { codeActions } from './actions.ts';
import { completion, documentationOf } from './completion/index.ts';
import type { TextFile } from './files.ts';
import { hover } from './hover.ts';
import { definition, highlights, links, references } from './navigation.ts';
import { offsetAt, pathOf } from './places.ts';
import { prepareRename, rename } from './rename.ts';
import type { At, Session } from './session.ts';
import { documentSymbols, workspaceSymbols } from './symbols.ts';
import { foldingRanges, formatted } from './text-shape.ts';

/** Answers every request of a client. What goes wrong in one of them is logged at the client, and the answer is empty. */
export function answer(connection: Connection, session: Session): void {
  const asked = new Asked(connection, session);
  answerTyping(connection, session, asked);
  answerNavigation(connection, session, asked);
  answerWholeFiles(connection, session, asked);
}

function answerTyping(connection: Connection, session: Session, asked: Asked): void {
  connection.onCompletion((params) => asked.at(params, (place) => [...completion(place, session)]));
  connection.onCompletionResolve((item) => {
    const value = asked.guarded(() => documentationOf(item.data ?? {}, session.workspace.table));
    return value ? { ...item, documentation: { kind: MarkupKind.Markdown, value } } : item;
  });
  connection.onHover((params) => asked.at(params, (place) => hover(place, session)));
  connection.onCodeAction(({ context, range, textDocument }) =>
    asked.in(textDocument, (file) => {
      const { diagnostics, only } = context;
      return [...codeActions({ file, range, diagnostics, only }, session)];
    }),
  );
}

function answerNavigation(connection: Connection, session: Session, asked: Asked): void {
  connection.onDefinition((params) => asked.at(params, (place) => [...definition(place, session)]));
  connection.onReferences((params) =>
    asked.at(params, (place) => [...references(place, session, params.context.includeDeclaration)]),
  );
  connection.onDocumentHighlight((params) => asked.at(params, (place) => [...highlights(place, session)]));
  connection.onPrepareRename((params) => asked.at(params, (place) => prepareRename(place, session)));
  connection.onRenameRequest((params) => asked.at(params, (place) => rename(place, params.newName, session)));
}

function answerWholeFiles(connection: Connection, session: Session, asked: Asked): void {
  connection.onDocumentSymbol(({ textDocument }) =>
    asked.in(textDocument, (file) => [...documentSymbols(file, session)]),
  );
  connection.onWorkspaceSymbol(({ query }) => asked.guarded(() => [...workspaceSymbols(query, session)]));
  connection.onFoldingRanges(({ textDocument }) =>
    asked.in(textDocument, (file) => [...foldingRanges(file)]),
  );
  connection.onDocumentFormatting(({ options, textDocument }) =>
    asked.in(textDocument, (file) => [...formatted(file, options)]),
  );
  connection.onDocumentLinks(({ textDocument }) =>
    asked.in(textDocument, (file) => [...links(file, session)]),
  );
}

/** Finds the text that a request is about, and keeps a fault of one answer from the others. */
class Asked {
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
      // A refusal is an answer.
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

  at<T>({ position, textDocument }: TextDocumentPositionParams, what: (at: At) => T): T | null {
    return this.in(textDocument, (file) => what({ file, offset: offsetAt(file.source, position) }));
  }
}
