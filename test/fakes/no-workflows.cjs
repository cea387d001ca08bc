// What a worker runs that is there, and knows no workflow of ours.
exports.other = () => Promise.resolve();
