/** What is needed of S3, in a module of its own: most requests need no blob, and this client is as large as all others. */
export {
  DeleteObjectCommand,
  DeleteObjectTaggingCommand,
  GetObjectCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
