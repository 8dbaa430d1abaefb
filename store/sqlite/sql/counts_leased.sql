SELECT queue FROM counts WHERE leased > 0
