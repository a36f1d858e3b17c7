export { IssuerDocuments, type KeysOrFault, type Metadata } from './issuer-documents.ts';
export { type IssuerSource, issuerUrlFault, issuerZone, metadataOf } from './issuer-source.ts';
