import type { DocumentPath } from './document-path.ts';
import type { Faults } from './faults.ts';
import type { Files } from './files.ts';

/** The files of a location, as its handlers come to them. */
export interface Site {
  readonly paths: DocumentPath;
  readonly files: Files;
  readonly faults: Faults;
}
