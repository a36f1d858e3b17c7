import { CodeActionKind, TextDocumentSyncKind } from 'vscode-languageserver/node';
import type { ServerCapabilities } from 'vscode-languageserver/node';

/** What the server can do. */
export const CAPABILITIES: ServerCapabilities = {
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
