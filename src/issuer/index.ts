export { fetchDocuments, IssuerDocuments, type KeysOrFault } from './issuer-documents.ts';
export {
  type IssuerSource,
  isLoopback,
  issuerUrlFault,
  namedUrlFault,
  issuerZone,
  metadataOf,
  nameOfIssuer,
} from './issuer-source.ts';
