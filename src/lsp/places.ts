import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Position, Range } from 'vscode-languageserver/node';
import { TextDocument } from 'vscode-languageserver-textdocument';
import type { Source, Span } from '../../grammar/index.ts';

const documents = new WeakMap<Source, TextDocument>();

/** A span as the protocol counts: lines from 0, columns in UTF-16 units. */
export function rangeOf({ source, start, end }: Span): Range {
  const document = documentOf(source);
  return { start: document.positionAt(start), end: document.positionAt(end) };
}

/** The offset of a position; one beyond the end of its line or of the text is that end. */
export function offsetAt(source: Source, position: Position): number {
  return documentOf(source).offsetAt(position);
}

/** The path of a file, or the URI itself of what is no file: a text that was never saved. */
export function pathOf(uri: string): string {
  return uri.startsWith('file:') ? fileURLToPath(uri) : uri;
}

/** The URI of a path that `pathOf` gave. */
export function uriOf(path: string): string {
  return path.startsWith('/') || /^[A-Za-z]:[\\/]/.test(path) ? pathToFileURL(path).href : path;
}

/** Its line index is made once for each text. */
function documentOf(source: Source): TextDocument {
  let document = documents.get(source);
  if (!document) documents.set(source, (document = TextDocument.create('', '', 0, source.text)));
  return document;
}
