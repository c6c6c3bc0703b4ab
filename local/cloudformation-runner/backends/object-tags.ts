import { buildErrorResponse } from '../gateway/errors.ts';
import type { Forward } from './forward.ts';

const NONE = Buffer.alloc(0);

/** The local S3 treats DeleteObjectTagging as DeleteObject. So tags stay here, in memory. */
export const supportObjectTags = (forward: Forward): Forward => {
  const tags = new Map<string, string>();
  return async (request) => {
    const { pathname, searchParams } = new URL(request.path, 'http://s3');
    if (!searchParams.has('tagging')) {
      if (request.method === 'PUT') tags.set(pathname, request.headers['x-amz-tagging'] ?? '');
      if (request.method === 'DELETE') tags.delete(pathname);
      return forward(request);
    }
    const { status } = await forward({ ...request, method: 'HEAD', path: pathname, body: NONE });
    if (status === 404)
      return buildErrorResponse('s3', { status, code: 'NoSuchKey', message: 'There is no such object.' });
    if (request.method === 'DELETE') {
      tags.delete(pathname);
      return { status: 204, headers: {}, body: NONE };
    }
    const set = [...new URLSearchParams(tags.get(pathname))].map(
      ([key, value]) => `<Tag><Key>${key}</Key><Value>${value}</Value></Tag>`,
    );
    return {
      status: 200,
      headers: { 'content-type': 'application/xml' },
      body: Buffer.from(`<Tagging><TagSet>${set.join('')}</TagSet></Tagging>`),
    };
  };
};
